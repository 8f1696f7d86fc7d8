import { hasCode } from '../chain/read-domain.ts'
import type { Address } from '../protocol/hex.ts'
import { type CheckPlace, nodesOf } from './check-place.ts'
import { type Check, eachWithin, type Finding } from './run-checks.ts'

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
        asks: 'the question whether the wallet is a contract',
        fix: `Fix ${places.map(({ labels }) => labels.rpcUrl).join(', ')} first.`,
        silence: 'warn',
        run: (limitMs) => compare(address, places, limitMs),
      },
    ]
  })
}

async function compare(address: Address, places: readonly CheckPlace[], limitMs: number): Promise<Finding[]> {
  const asked = await Promise.allSettled(
    places.map(({ network }) => hasCode(nodesOf(network, eachWithin(limitMs)), address)),
  )
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
