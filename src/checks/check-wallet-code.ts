import { createRpc } from '../chain/rpc.ts'
import type { Address } from '../protocol/hex.ts'
import { askInOrder } from './ask-in-order.ts'
import type { CheckPlace } from './check-place.ts'
import type { Check, Finding } from './run-checks.ts'

/** An ordinary account that lets a contract act for it (EIP-7702): its key still moves the money. */
const DELEGATION = /^0xef0100/i

interface PaidPlace {
  place: CheckPlace
  address: Address
}

/**
 * Is a wallet that is paid on several networks a contract on some of them only? Where it is none, nobody may be able to move
 * the money: the same address can belong to another contract there, or to nobody.
 */
export function checkWalletCode(paid: readonly PaidPlace[]): Check[] {
  const addresses = [...new Set(paid.map(({ address }) => address))]
  return addresses.flatMap((address): Check[] => {
    const places = paid.flatMap((one) => (one.address === address ? [one.place] : []))
    if (places.length < 2) return []
    const name = places[0]!.labels.walletAddress
    return [
      {
        name,
        asks: 'the RPCs, asked whether the wallet is a contract,',
        fix: `Fix ${places.map(({ labels }) => labels.rpcUrl).join(', ')} first.`,
        silence: 'warn',
        run: (limitMs) => compare(address, places, limitMs),
      },
    ]
  })
}

async function compare(address: Address, places: readonly CheckPlace[], limitMs: number): Promise<Finding[]> {
  const asked = await Promise.allSettled(places.map((place) => isContract(address, place, limitMs)))
  const where = (wanted: boolean) =>
    places.filter((_place, index) => {
      const one = asked[index]!
      return one.status === 'fulfilled' && one.value === wanted
    })
  const [contract] = where(true)
  if (!contract) return []
  return where(false).map(({ network, labels }): Finding => {
    const message = `${address} is a contract on ${contract.network.name}, and none on ${network.name}: money that is paid there may be lost`
    const fix = `Deploy the wallet on ${network.name} too, or set SVC_WALLET_ADDRESS_${network.chainId} to one that you control there.`
    return { name: labels.walletAddress, level: 'error', message, fix }
  })
}

async function isContract(address: Address, { network }: CheckPlace, limitMs: number): Promise<boolean> {
  const code = await askInOrder(network.rpcUrls, limitMs, (rpcUrl, timeoutMs) =>
    createRpc(rpcUrl, { timeoutMs, maxBytes: 256 * 1024 }).call('eth_getCode', [address, 'latest']),
  )
  return typeof code === 'string' && code.length > 2 && !DELEGATION.test(code)
}
