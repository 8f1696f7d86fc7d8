import type { JSX } from 'preact'
import { Icon } from '../../shared/icons.tsx'
import { useSetupContext } from '../use-setup.ts'

/** Says at a plan or route on which networks it is not offered, because its price does not carry the gas there. */
export function NotOffered({ list, id }: { list: 'planIds' | 'routeIds'; id: string }): JSX.Element | null {
  const { answer, state } = useSetupContext()
  const places = answer?.tooSmall.filter((found) => found[list].includes(id.trim())) ?? []
  if (id.trim() === '' || places.length === 0) return null
  const words = places.map(({ chainId, leastAmount }) => {
    const name = state.networks.find((network) => network.chainId === chainId)?.name ?? `chain ${chainId}`
    return leastAmount === null ? name : `${name} (from ${leastAmount})`
  })
  return (
    <p class="field-message warn">
      <Icon name="warn" />
      <span>Too small for {words.join(', ')}: it is offered on the other networks only.</span>
    </p>
  )
}
