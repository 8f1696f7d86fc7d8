import { SETTLER, SETTLER_CODE } from '../../src/chain/settler.ts'
import type { DevChain } from '../../src/testing/dev-chain.ts'

/** Puts the settler contract where `paystile deploy-settler` puts it, without a transaction. */
export const placeSettler = ({ client }: DevChain, code = SETTLER_CODE): Promise<void> =>
  client.setCode({ address: SETTLER, bytecode: code })
