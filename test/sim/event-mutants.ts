import type { SourceMutant } from './source-mutant.ts'

const storm = 'endpoints that refuse, lose answers and are down'

/** Mistakes with what sellers are told. */
export const EVENT_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'a refund that was paid has no event',
    storm,
    file: 'rules/events',
    from: "'refund-confirmed': { types: ['refund.settled'], once: true }",
    to: "'refund-confirmed': { types: [], once: true }",
  },
  {
    name: 'an event is stored after its transition',
    storm,
    file: 'engine/events/record-events',
    from: 'await store.commit({ ...step, puts: [...step.puts, ...once.values()] })',
    to: 'await store.commit(step).then(async (done) => { if (done.kind === "applied") await store.commit({ puts: [...once.values()] }).catch(() => undefined); return done })',
  },
  {
    name: 'an event that the endpoint refused is taken for delivered',
    storm,
    file: 'engine/events/send-events',
    from: 'const ok = answer.status !== null && answer.status >= 200 && answer.status < 300',
    to: 'const ok = true',
  },
  {
    name: 'an event has another id at every try',
    storm,
    file: 'engine/events/send-events',
    from: 'id: row.eventId, body',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: 'id: `${row.eventId}${row.attempts}`, body',
  },
  {
    name: 'an event does not wait for the earlier ones of its challenge',
    storm,
    file: 'engine/events/send-events',
    from: 'if (next !== undefined)',
    to: 'if (next === 0)',
  },
  {
    name: 'two payments that go back at once are one event',
    storm: 'clocks that disagree on what has expired',
    file: 'engine/refund/refund-rows',
    from: 'payment: refund.key,',
    to: '',
  },
]
