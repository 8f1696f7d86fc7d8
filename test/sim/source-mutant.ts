/**
 * Money bugs inside the engine and its rules: one fragment of the source replaced by another, in a copy of the
 * simulator's build. Fragments stand on one line and read the same in TypeScript and in what is compiled from it.
 */
export interface SourceMutant {
  name: string
  /** Below src, without its ending. */
  file: string
  from: string
  to: string
  /** A second fragment of the same file, where one alone breaks nothing. */
  also?: { from: string; to: string }
  /** It is too rare elsewhere, so it is run only in this storm. */
  storm?: string
}
