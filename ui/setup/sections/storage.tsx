import type { JSX } from 'preact'
import { Choice } from '../choice.tsx'
import { Field, More } from '../fields.tsx'
import { useSetupContext } from '../use-setup.ts'
import { Section } from './section.tsx'

const SIDES = [
  { value: 'embedded', title: 'In this server', text: 'A durable file in the data folder. One process.' },
  { value: 'postgres', title: 'Postgres', text: 'Many servers share it.' },
  { value: 'redis', title: 'Redis', text: 'Many servers share it. Needs persistence on.' },
  { value: 'both', title: 'Postgres and Redis', text: 'Postgres keeps, Redis wakes the others up.' },
] as const

export function StorageSection(): JSX.Element {
  const { form, state } = useSetupContext()
  const chosen = form.choices.store
  const shared = chosen !== 'embedded'
  return (
    <Section id="storage" intro="Where it is written down who paid what. Back it up.">
      <Choice group="store" legend="Records are kept" sides={SIDES} />
      {(chosen === 'postgres' || chosen === 'both') && (
        <Field
          name="DATABASE_URL"
          label="Postgres"
          placeholder="postgres://user:password@postgres:5432/paystile"
        />
      )}
      {(chosen === 'redis' || chosen === 'both') && (
        <Field name="REDIS_URL" label="Redis" placeholder="redis://redis:6379" />
      )}
      {chosen === 'embedded' && state.values.DATA_DIR !== undefined && (
        <Field name="DATA_DIR" label="Data folder" mono optional />
      )}
      {shared && <SecretKey />}
      <More title={shared ? 'Retention' : 'Secret key and retention'}>
        {!shared && <SecretKey />}
        <Field
          name="RETENTION_DAYS"
          label="Delivered results are kept for"
          hint="Empty: for good. Who paid what, and the log of it, are never taken away."
          placeholder="0"
          inputMode="numeric"
          unit="days"
          optional
        />
      </More>
    </Section>
  )
}

function SecretKey(): JSX.Element {
  const { form } = useSetupContext()
  const embedded = form.choices.store === 'embedded'
  return (
    <Field
      name="SVC_SECRET_KEY"
      label="Secret key"
      hint={`Proves offers and encrypts stored credentials. ${embedded ? 'Empty: one is made and kept in the data folder.' : 'The same on every server.'}`}
      canGenerate
      optional={embedded}
    />
  )
}
