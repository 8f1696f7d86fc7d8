import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { TESTNET } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import { settledOutcome } from './settled-outcome.ts'

test.each([null, 'sealed'])(
  'the buyer of a call whose answer cannot be given again is told so, and not to send it again: %s',
  async (result) => {
    const { core } = testCore()
    const sold = {
      key: 'c',
      kind: 'route',
      state: 'DELIVERED',
      payer: PAYER,
      receipt: 'r',
      paidAt: 1,
    } as const
    const row = testChallenge({ ...sold, result, txHash: '0x1' })
    await core.store.commit({ puts: [{ table: 'challenges', row }] })
    const owner = { payer: PAYER, network: TESTNET.id }
    const wait = { challengeId: 'c', owner, deadline: 0, fresh: false }
    const outcome = await settledOutcome(core, { ...wait, responder: { kind: 'embedded' } })
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: {
        code: 'TX_ALREADY_REDEEMED',
        message:
          'This call was paid and answered, and its answer is not kept. Nothing was charged now. To call again, ask for a new challenge.',
      },
    })
  },
)
