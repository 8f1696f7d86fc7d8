/** How the commands of a sandbox are written where it runs, for its messages. */
export interface SandboxCommands {
  start: string
  buy: string
  /** What options are appended to. */
  buyWithOptions: string
}

/** In a clone of the repository. */
export const NPM_SCRIPTS: SandboxCommands = {
  start: 'npm start',
  buy: 'npm run buy',
  buyWithOptions: 'npm run buy --',
}

/** In a folder where the package is installed. */
export const INSTALLED: SandboxCommands = {
  start: 'npx paystile sandbox',
  buy: 'npx paystile sandbox buy',
  buyWithOptions: 'npx paystile sandbox buy',
}
