/** The most words of a sentence. */
export const maxWords = 35

export interface PlainWord {
  word: RegExp
  instead: string
}

const noun = 'the noun: client, user, process, controller'

/** Words that make a reader decode a sentence, and what to say. */
export const plainWords: readonly PlainWord[] = [
  { word: /\b(?:who|whom)ever\b/i, instead: noun },
  { word: /\b(?:some|any|every|no)body\b/i, instead: noun },
  { word: /\bwhom\b/i, instead: noun },
  { word: /(?:^|[.;:,] )who (?!am\b)/i, instead: noun },
  { word: /\bstrangers?\b/i, instead: 'unauthenticated client' },
  { word: /\banew\b/i, instead: 'again' },
  { word: /\bmend(?:s|ed|ing)?\b/i, instead: 'fix' },
  { word: /\bdear\b/i, instead: 'expensive' },
  { word: /\bin vain\b/i, instead: 'times out, is not found' },
  { word: /\bno harm\b/i, instead: 'harmless' },
  { word: /\ball the same\b/i, instead: 'still' },
  { word: /\bof ours\b/i, instead: "Kubestage's" },
  { word: /\bbetter times\b/i, instead: 'what it waits for' },
]
