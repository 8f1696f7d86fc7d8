/** A seller's text on one line, without characters that end lines or cannot be seen. */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Zs}]+/gu, ' ')
    .replace(/[\p{Cf}\p{Cs}]/gu, '')
    .trim()
}

/**
 * A seller's text as plain text within Markdown, wherever it stands in a line: no heading, list, link, code or HTML can
 * come of it.
 */
export function plain(text: string): string {
  return oneLine(text)
    .replace(/[\\`*_[\]<>#|~&!]/g, '\\$&')
    .replace(/^(?=[-+=])/, '\\')
    .replace(/^(\d+)(?=[.)])/, '$1\\')
}

/** Code, with a fence that nothing in it can close. */
export function fenced(language: string, code: string): string {
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${code.trimEnd()}\n${fence}`
}

/** Ids, paths and addresses within a line or a cell of a table. */
export const code = (text: string): string => `\`${text.replace(/[`|]/g, encodeURIComponent)}\``

/** Angle brackets hold any URL; those that would end them, or the line, are percent-encoded. The label is Markdown. */
export function link(label: string, url: string): string {
  return `[${label}](${/[\s()<>]/.test(url) ? `<${url.replace(/[\s<>]/g, encodeURIComponent)}>` : url})`
}
