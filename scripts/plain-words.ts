/** The most words of a sentence. */
export const maxWords = 35
/** The most words of a table's cell: it holds a fact. */
export const maxCellWords = 40

export interface PlainWord {
  word: RegExp
  instead: string
  /** Comments may say it. */
  isForPages?: true
}

const noun = 'the noun: client, user, process, controller'

/** Words that make a reader decode a sentence, and what to say. */
export const plainWords: readonly PlainWord[] = [
  { word: /\b(?:who|whom)ever\b/i, instead: noun },
  { word: /\b(?:some|any|every|no)body\b/i, instead: noun },
  { word: /\bwhom\b/i, instead: noun },
  { word: /(?:^|[.;:,] |\b(?:is|are|of|by|for|from|to|with|than|and|or|but|as) )who (?!am\b)/i, instead: noun },
  { word: /\bthose who\b/i, instead: noun },
  { word: /(?:^|\. )whose\b/i, instead: noun },
  { word: /\bstrangers?\b/i, instead: 'unauthenticated client' },
  { word: /\banew\b/i, instead: 'again' },
  { word: /\bmend(?:s|ed|ing)?\b/i, instead: 'fix' },
  { word: /\bdear\b/i, instead: 'expensive' },
  { word: /\bin vain\b/i, instead: 'times out, is not found' },
  { word: /\bno harm\b/i, instead: 'harmless' },
  { word: /\ball the same\b/i, instead: 'still' },
  { word: /\bof ours\b/i, instead: "Kubestage's" },
  { word: /\bbetter times\b/i, instead: 'what it waits for' },
  { word: /\bin no one's way\b/i, instead: 'harmless' },
  { word: /\bin the way\b(?! `| code)/i, instead: 'the cause', isForPages: true },
  { word: /\b(?:which|that) (?:is|are) none\b/i, instead: 'not one', isForPages: true },
  { word: /\bmust be none\b/i, instead: 'not one', isForPages: true },
  { word: /\bhas an end\b/i, instead: 'times out', isForPages: true },
  { word: /\bat its word\b/i, instead: 'is never replaced' },
  { word: /\bwaited for\b/i, instead: 'waits for, with its subject', isForPages: true },
  { word: /\bill\b/i, instead: 'not ready, broken', isForPages: true },
  { word: /\bthinking up\b/i, instead: 'generating' },
  { word: /\bclothes\b/i, instead: 'implements the same interface' },
  { word: /\b(?:be|is|are|was|were) driven away\b/i, instead: 'evicted' },
  { word: /\bnews enough\b/i, instead: 'triggers' },
  { word: /\bbeside the most\b/i, instead: 'compared with the limit' },
  { word: /\bin the order in which\b/i, instead: 'in … order', isForPages: true },
  { word: /\bof the (?:dear|cheap) kind\b/i, instead: 'expensive, cheap' },
  { word: /\bpictures? of (?:a |its )?static pods?\b/i, instead: 'mirror pod' },
  { word: /\blets? (?:\w+ )?down\b/i, instead: 'loses requests' },
  { word: /\bin doubt\b/i, instead: 'inconclusive', isForPages: true },
]
