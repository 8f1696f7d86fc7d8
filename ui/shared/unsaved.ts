/** Whether leaving the page would lose typed text. */
let unsaved = false

export function setUnsaved(next: boolean): void {
  unsaved = next
}

export const isUnsaved = (): boolean => unsaved

/** Asks before an action inside the page loses typed text; the browser asks when the page is left. */
export function mayLose(step: string): boolean {
  return !unsaved || confirm(`There are changes that you have not saved. ${step} and lose them?`)
}

addEventListener('beforeunload', (event) => {
  if (unsaved) event.preventDefault()
})
