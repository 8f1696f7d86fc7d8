import { privateKeyToAddress } from 'viem/accounts'
import { canonicalKey, privateKeyFault } from './check-wallet.ts'
import { secretKind } from './secret-variables.ts'

/** What may be shown of a secret, so that its owner recognises it: the address of a key, the host of a URL. */
export function secretHint(name: string, text: string): string | undefined {
  switch (secretKind(name)) {
    case 'wallet-key': {
      const keys = text.split(',').map((key) => key.trim())
      if (keys.some((key) => privateKeyFault(key) !== undefined)) return undefined
      return keys.map((key) => privateKeyToAddress(canonicalKey(key))).join(', ')
    }
    case 'url': {
      if (/^https?:/i.test(text)) {
        // Several RPCs: the host of each.
        const urls = text.split(',').map((url) => url.trim())
        return urls.every((url) => hostOf(url)) ? urls.map(hostOf).join(', ') : undefined
      }
      return hostOf(text)
    }
    default:
      return undefined
  }
}

function hostOf(text: string): string | undefined {
  // Not with the URL parser, because sentinel URLs have several hosts. An "@" after a "/" may be in a password or in a
  // path: then there is no hint.
  return /^[a-z+]+:\/\/(?:[^/@]*@)?([\w.,:[\]-]+)(?:[/?#][^@]*)?$/i.exec(text)?.[1]
}
