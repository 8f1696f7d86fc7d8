import type { Address, Hex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { numberToHex, parseEther } from 'viem/utils'
import known from './test-accounts.json' with { type: 'json' }

/** A key with its address. */
export type DevAccount = { privateKey: Hex; account: PrivateKeyAccount; address: Address }

/** The keys are those of anvil's own mnemonic, `test test … junk`, stored because deriving them takes a fifth of a second. */
export const ACCOUNTS = known.length

const accounts = new Map<number, DevAccount>()

export function devAccount(index: number): DevAccount {
  const key = known[index]
  if (!key) throw new Error(`account(${index}): the dev chain has accounts 0 to ${ACCOUNTS - 1}.`)
  let account = accounts.get(index)
  if (!account) {
    account = accountOf(key.privateKey as Hex)
    accounts.set(index, account)
  }
  return account
}

export function accountOf(privateKey: Hex): DevAccount {
  const account = privateKeyToAccount(privateKey)
  return { privateKey, account, address: account.address }
}

/** Gives each of them 10,000 ETH, and lets anvil send for it without its key, as it does for accounts that it derived itself. */
export async function fundDevAccounts(rpcUrl: string): Promise<void> {
  const balance = numberToHex(parseEther('10000'))
  const calls = known.flatMap(({ address }) => [
    { method: 'anvil_setBalance', params: [address, balance] },
    { method: 'anvil_impersonateAccount', params: [address] },
  ])
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))),
  })
  const answers = (await response.json()) as Array<{ error?: { message: string } }>
  const refused = answers.find(({ error }) => error)
  if (refused) throw new Error(`anvil refused to fund the dev accounts: ${refused.error?.message}`)
}
