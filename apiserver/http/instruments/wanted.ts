/** Holds what a request wants of the instruments. */
export interface Wanted {
  query: { getAll(name: string): string[]; toString(): string }
  params: Readonly<Record<string, string>>
  /** Resolves to the map of fields in the body. */
  body(): Promise<Record<string, unknown>>
  /** Aborts when the client leaves. */
  signal: AbortSignal
}

export type Operation = (wanted: Wanted) => unknown
