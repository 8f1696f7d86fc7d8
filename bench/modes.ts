const MODES = ['--full', '--quick', '--prepaid', '--gas', '--stored', '--scale']

/** One line that says what can be asked for instead; undefined: there is such a run. */
export function modeFault(mode: string | undefined): string | undefined {
  if (mode === undefined || MODES.includes(mode)) return undefined
  return `${mode} is not an option. npm run bench -- [${MODES.join(' | ')}]; without one, all that is published is measured.`
}
