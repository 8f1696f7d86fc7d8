import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Block {
  language: string
  text: string
  /** The file that the line before names, as in "Save as `shop.mjs`:". */
  file: string | undefined
}

/** The code blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(fileURLToPath(new URL(`../../docs/${page}`, import.meta.url)), 'utf8')
  return [...text.matchAll(/(?:`([\w.-]+)`[^\n]*\n\n)?^```(\w+)\n([\s\S]*?)^```/gm)].map(
    ([, file, language = '', body = '']) => ({ language, text: body, file }),
  )
}

/** What a page shows of an output, as a pattern: `…` stands for whatever differs each time. */
export function patternOf(shown: string): RegExp {
  const escaped = shown.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(escaped.replaceAll('…', '\\S+?'))
}
