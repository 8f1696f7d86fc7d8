import type { JSX } from 'preact'
import { Icon } from '../../shared/icons.tsx'
import { blankPlan, type PlanRow } from '../form-state.ts'
import { useSetupContext } from '../use-setup.ts'
import { Cell, RowMessages } from './cell.tsx'
import { ListFrame } from './list-frame.tsx'
import { NotOffered } from './not-offered.tsx'
import { Section } from './section.tsx'

export function PlansSection(): JSX.Element {
  const setup = useSetupContext()
  const { plans } = setup.form
  const messages = setup.rowMessagesOf('PLANS')
  const change = (key: number, part: Partial<PlanRow>): void =>
    setup.setPlans(plans.map((row) => (row.key === key ? { ...row, ...part } : row)))

  return (
    <Section
      id="plans"
      intro="Subscriptions: one payment, then a token that works until it expires. With credits, the token also pays for calls of routes that take them. Leave this empty if you only sell single calls."
    >
      <ListFrame
        name="PLANS"
        add="Add a plan"
        empty="No plans yet."
        count={plans.length}
        onAdd={() => setup.setPlans([...plans, blankPlan()])}
      >
        {plans.map((row, index) => {
          const own = messages.filter((message) => message.row === row.key)
          const id = (cell: string): string => `plan-${index}-${cell}`
          return (
            <li key={row.key} class="row">
              <fieldset>
                <legend class="off-screen">Plan {index + 1}</legend>
                <div class="row-cells plan-cells">
                  <Cell
                    id={id('planId')}
                    cell="planId"
                    label="Plan id"
                    placeholder="hourly"
                    value={row.planId}
                    messages={own}
                    mono
                    onInput={(planId) => change(row.key, { planId })}
                  />
                  <Cell
                    id={id('price')}
                    cell="unitAmount"
                    label="Price"
                    dollars
                    placeholder="1.00"
                    value={row.price}
                    messages={own}
                    onInput={(price) => change(row.key, { price })}
                  />
                  <Cell
                    id={id('ttl')}
                    cell="tokenTtlSeconds"
                    label="Valid for"
                    placeholder="1 hour"
                    value={row.ttl}
                    messages={own}
                    onInput={(ttl) => change(row.key, { ttl })}
                  />
                  <Cell
                    id={id('credits')}
                    cell="credits"
                    label="Credits"
                    placeholder="none"
                    inputMode="numeric"
                    value={row.credits}
                    messages={own}
                    onInput={(credits) => change(row.key, { credits })}
                  />
                  <Cell
                    id={id('description')}
                    cell="description"
                    label="Description"
                    placeholder="An hour of everything"
                    value={row.description}
                    messages={own}
                    wide
                    onInput={(description) => change(row.key, { description })}
                  />
                </div>
                <RowMessages
                  messages={own}
                  boxes={{
                    planId: { id: id('planId'), label: 'Plan id' },
                    unitAmount: { id: id('price'), label: 'Price' },
                    tokenTtlSeconds: { id: id('ttl'), label: 'Valid for' },
                    credits: { id: id('credits'), label: 'Credits' },
                    description: { id: id('description'), label: 'Description' },
                  }}
                />
                <NotOffered list="planIds" id={row.planId} />
              </fieldset>
              <button
                type="button"
                class="button quiet icon-only"
                aria-label={`Remove plan ${row.planId || index + 1}`}
                onClick={() => setup.setPlans(plans.filter(({ key }) => key !== row.key))}
              >
                <Icon name="trash" />
              </button>
            </li>
          )
        })}
      </ListFrame>
      <RowMessages messages={messages.filter(({ row }) => row === undefined)} boxes={{}} />
    </Section>
  )
}
