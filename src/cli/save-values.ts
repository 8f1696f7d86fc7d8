import { configFilePath, replaceConfigFile, type SavedValues } from '../config/config-file.ts'
import { ConfigError } from '../errors.ts'

/** Writes config.json in place of what this command read there; refuses if that is no longer what is there. */
export function saveValues(dataDir: string, read: SavedValues, values: SavedValues): void {
  const path = configFilePath(dataDir)
  let isSaved: boolean
  try {
    isSaved = replaceConfigFile(dataDir, read, values)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError([`${path} cannot be written (${code}); set DATA_DIR to a folder of yours.`])
  }
  if (!isSaved)
    throw new ConfigError([
      `${path} was changed meanwhile, for example on the setup page; nothing was written. Run the command again.`,
    ])
}
