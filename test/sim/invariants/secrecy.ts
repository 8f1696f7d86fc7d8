import type { WireOutcome } from '../buyers/wire.ts'
import { KEYS } from '../secrets.ts'
import type { Scene } from './scene.ts'

/** I11: keys appear nowhere; results and the salts of 402s are seen only by their buyer. */
export async function checkSecrets({
  world,
  recorded,
  outside,
  buyers,
  authorizations,
  refunds,
}: Scene): Promise<void> {
  const signatures = [
    ...buyers.flatMap(({ payments }) => payments.map(({ payment }) => payment.payload.signature)),
    ...authorizations.map(({ auth }) => String(auth.signature ?? auth.seal)),
    ...[...refunds.values()].flatMap(({ auth }) => (auth ? String(auth.signature ?? auth.seal) : [])),
  ].map((signature) => signature.slice(2))
  const heard = buyers.map((buyer) => ({ buyer, text: buyer.heard.map(textOf).join('\n') }))
  const salts = new Map(heard.map(({ buyer, text }) => [buyer, saltsIn(text)]))
  const results = ['token:', 'data of ', 'sealed:']

  const log = JSON.stringify(await recorded.store.log(0, Number.MAX_SAFE_INTEGER))
  const alerts = outside.alerts.join('\n')
  const allSalts = [...salts.values()].flat()
  for (const [where, text] of [
    ['the log', log],
    ['an alert', alerts],
  ] as const) {
    refuse(text, KEYS, (what) => world.violate('I11', `${where} holds a key: ${what}`))
    refuse(text, signatures, (what) => world.violate('I11', `${where} holds the signature ${what}`))
    refuse(text, allSalts, (what) => world.violate('I11', `${where} holds the salt ${what}`))
    refuse(text, results, (what) => world.violate('I11', `${where} holds a result: ${what}`))
  }
  for (const { buyer, text } of heard) {
    const strange = buyers.flatMap((other) => (other === buyer ? [] : salts.get(other)!))
    refuse(text, [...KEYS, 'sealed:'], (what) =>
      world.violate('I11', `${buyer.name} was told a key: ${what}`),
    )
    refuse(text, strange, (what) => world.violate('I11', `${buyer.name} was told another's salt ${what}`))
    const own = new Set(buyer.heard.map(boughtIn))
    for (const [, challengeId] of text.matchAll(/(?:token:|data of )([\w-]+)/g)) {
      if (!own.has(challengeId))
        world.violate('I11', `${buyer.name} was told the result of ${challengeId} in passing`)
    }
  }
}

function refuse(text: string, secrets: readonly string[], found: (secret: string) => void): void {
  for (const secret of secrets) if (text.includes(secret)) found(secret)
}

/** Whose result this outcome hands over; whether it may is not asked here. */
function boughtIn(outcome: WireOutcome): string | undefined {
  if (outcome.kind === 'granted') return outcome.grant.challengeId
  return outcome.kind === 'resource' ? outcome.response.challengeId : undefined
}

/** An error's message and details as well, which JSON leaves out. */
function textOf(outcome: WireOutcome): string {
  if (outcome.kind !== 'failed') return JSON.stringify(outcome)
  const { error, ...rest } = outcome
  return JSON.stringify({ ...rest, error: { ...error, message: error.message } })
}

function saltsIn(text: string): string[] {
  return [...text.matchAll(/"salt":"([^"]+)"/g)].map((match) => match[1]!)
}
