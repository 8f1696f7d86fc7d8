import type { JSX } from 'preact'
import type { Choices } from './form-state.ts'
import { unwantedNames } from './form-state.ts'
import { useSetupContext } from './use-setup.ts'

export interface Side<T extends string> {
  value: T
  title: string
  text: string
}

/** Radio buttons as cards, for "one of these". */
export function RadioCards<T extends string>({
  legend,
  name,
  sides,
  value,
  disabled,
  onChange,
}: {
  legend: string
  name: string
  sides: ReadonlyArray<Side<T>>
  value: T
  disabled?: boolean
  onChange: (value: T) => void
}): JSX.Element {
  return (
    <fieldset class="choice" disabled={disabled ?? false}>
      <legend>{legend}</legend>
      <div class="choice-cards">
        {sides.map((side) => (
          <label key={side.value} class="choice-card">
            <input
              type="radio"
              name={name}
              value={side.value}
              checked={value === side.value}
              onChange={() => onChange(side.value)}
            />
            <span>
              <span class="choice-title">{side.title}</span>
              <span class="choice-text">{side.text}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

/** A choice between groups of settings. If the environment sets one of them, the choice is fixed. */
export function Choice<K extends keyof Choices>({
  group,
  legend,
  sides,
}: {
  group: K
  legend: string
  sides: ReadonlyArray<Side<Choices[K]>>
}): JSX.Element {
  const setup = useSetupContext()
  const chosen = setup.form.choices[group]
  const decided = sides.some((side) => {
    const others = unwantedNames({ ...setup.form.choices, [group]: side.value })
    return side.value !== chosen && [...others].some((name) => setup.isLocked(name) && !isUnwanted(name))
  })
  function isUnwanted(name: string): boolean {
    return unwantedNames(setup.form.choices).has(name)
  }
  return (
    <>
      <RadioCards
        legend={legend}
        name={group}
        sides={sides}
        value={chosen}
        disabled={decided}
        onChange={(side) => setup.choose(group, side)}
      />
      {decided && <p class="hint">The environment has decided this.</p>}
    </>
  )
}
