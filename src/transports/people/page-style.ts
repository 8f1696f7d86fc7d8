/** The look of the pages for people; `--accent` and `--on-accent` come from the seller's color. */
const RULES = `
:root { color-scheme: light dark; --back: #f4f5f7; --card: #fff; --sunken: #f4f5f8; --text: #16181d; --soft: #565d6b; --line: #dadde3; --link: #0b57b0; --good: #0f6b3a; --wait: #8a5200; --bad: #a8201a }
@media (prefers-color-scheme: dark) { :root { --back: #101216; --card: #191c22; --sunken: #12151a; --text: #e9ebf0; --soft: #a3abba; --line: #343944; --link: #8ab8ff; --good: #6fd39c; --wait: #f0b45f; --bad: #ff9a92 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere }
.band { height: .375rem; background: var(--accent) }
.page { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 3rem }
.seller { display: flex; align-items: center; gap: .75rem; margin: 0 0 1rem; font-weight: 600; font-size: 1.05rem }
.seller h1 { font-size: 1.6rem } .seller img { height: 2.25rem; max-width: 9rem; object-fit: contain }
.card > :first-child { margin-top: 0 } .card { padding: 1.75rem; margin: 0 0 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem }
h1 { margin: 0; font-size: 1.6rem; line-height: 1.25 } h2 { margin: 0 0 .75rem; font-size: 1.15rem } h3 { margin: 1.5rem 0 .4rem; font-size: 1rem }
p { margin: .5rem 0 } a { color: var(--link) } .soft { color: var(--soft) } .small { font-size: .875rem }
.good { color: var(--good) } .wait { color: var(--wait) } .bad { color: var(--bad) } .state { font-weight: 600 }
code, pre, .mono { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .875rem }
pre { margin: .5rem 0; padding: .75rem; max-height: 26rem; overflow: auto; background: var(--sunken); border: 1px solid var(--line); border-radius: .5rem; white-space: pre-wrap }
.price { margin: .75rem 0 0; font-size: 2rem; font-weight: 650; line-height: 1.2 } .price small { display: inline-block; font-size: 1rem; line-height: 1.4; font-weight: 400; color: var(--soft) }
.items { list-style: none; margin: 1rem 0 0; padding: 0 } .items li { display: grid; grid-template-columns: 1fr auto; gap: 0 1.5rem; padding: .85rem 0; border-top: 1px solid var(--line) } .items li:first-child { border: 0; padding-top: 0 } .items li:last-child { padding-bottom: 0 }
.items .what { font-weight: 600 } .items .cost { font-weight: 650; text-align: right; white-space: nowrap } .items .more { grid-column: 1 / -1 } .items p { margin: .15rem 0 }
.copied { position: relative } .copied button { position: absolute; top: .5rem; right: .5rem } .copied pre { max-height: none } .copied button + pre::before { content: ""; float: right; width: 5rem; height: 1.5rem }
button, .button { display: inline-block; min-height: 2.75rem; padding: .55rem 1.1rem; font: inherit; font-weight: 600; line-height: 1.5; text-decoration: none; color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: .5rem; cursor: pointer }
button.main, .button.main { color: var(--on-accent); background: var(--accent); border-color: var(--accent) } button.tiny { min-height: 0; padding: .15rem .6rem; font-size: .875rem }
button:disabled { opacity: .6; cursor: default } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: .75rem; margin: 1.25rem 0 0 }
fieldset { margin: 1.25rem 0 0; padding: 0; border: 0 } legend { padding: 0; margin: 0 0 .4rem; font-weight: 600 } .choices { display: flex; flex-wrap: wrap; gap: .5rem }
.choice { display: flex; align-items: center; gap: .5rem; min-height: 2.75rem; padding: .4rem .9rem; border: 1px solid var(--line); border-radius: .5rem; cursor: pointer } .choice:has(:checked) { border-color: var(--link); box-shadow: inset 0 0 0 1px var(--link) } .choice input { margin: 0; accent-color: var(--link) } .choice img { width: 1.4rem; height: 1.4rem; border-radius: .3rem }
.steps { list-style: none; margin: 1.25rem 0 0; padding: 0 } .steps li { display: flex; gap: .7rem; padding: .3rem 0; color: var(--soft) } .steps .mark { flex: none; width: 1.4rem; text-align: center } .steps .done { color: var(--good) } .steps .now { color: var(--text); font-weight: 600 }
.note { margin: 1.25rem 0 0; padding: .75rem 1rem; background: var(--sunken); border: 1px solid var(--line); border-left: .3rem solid var(--soft); border-radius: .5rem } .note.good { border-left-color: var(--good) } .note.wait { border-left-color: var(--wait) } .note.bad { border-left-color: var(--bad) } .note p { color: var(--text) } .note p:first-child { margin-top: 0 } .note p:last-child { margin-bottom: 0 }
iframe { width: 100%; height: 24rem; margin: .5rem 0; background: #fff; border: 1px solid var(--line); border-radius: .5rem } .shown { display: block; max-width: 100%; margin: .5rem 0; border: 1px solid var(--line); border-radius: .5rem }
dl { display: grid; grid-template-columns: 9rem 1fr; align-items: baseline; gap: .5rem 1rem; margin: 1rem 0 0 } dt { color: var(--soft) } dd { margin: 0; min-width: 0 }
@media (max-width: 32rem) { .page { padding: 1rem .75rem 2rem } .card { padding: 1.25rem 1rem } dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .5rem } .copied button { position: static; display: block; margin: 0 0 .25rem auto } .copied button + pre::before { content: none } code, pre, .mono { font-size: .8125rem } .items li { gap: 0 .75rem } .row > button { flex: 1 1 auto } }
`

const DEFAULT_COLOR = '#0b57b0'

/** The whole style sheet, with the seller's color. */
export function pageStyle(color: string | null): string {
  const accent = color ?? DEFAULT_COLOR
  return `:root { --accent: ${accent}; --on-accent: ${readableOn(accent)} }${RULES}`
}

/** Black or white, whichever has more contrast on this color: every color then reaches the 4.5 that readers need. */
function readableOn(color: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
  return luminance > 0.179 ? '#000' : '#fff'
}
