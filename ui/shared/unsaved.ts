/** Whether leaving would lose something that was typed. */
let unsaved = false

export function setUnsaved(next: boolean): void {
  unsaved = next
}

export const isUnsaved = (): boolean => unsaved

/** Asks before a step inside the page loses what was typed; the browser itself asks before one that leaves it. */
export function mayLose(step: string): boolean {
  return !unsaved || confirm(`There are changes that you have not saved. ${step} and lose them?`)
}

addEventListener('beforeunload', (event) => {
  if (unsaved) event.preventDefault()
})
