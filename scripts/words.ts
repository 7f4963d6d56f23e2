// Holds pages, and comments of the product, against scripts/plain-words.ts: plain words, and sentences that are read
// once. Prints every finding; exit code 1 if there is one.
import { globSync, readFileSync } from 'node:fs'
import { maxCellWords, maxWords, type PlainWord, plainWords } from './plain-words.ts'

interface Finding {
  file: string
  line: number
  what: string
}

const pages = globSync(['*.md', '{docs,examples,openapi,shared,test}/**/*.md'], {
  exclude: ['**/node_modules/**', 'THIRD-PARTY-NOTICES.md'],
}).sort()
const comments = /^[ \t]*\/\*[\s\S]*?\*\/|(?<=^|\s)(?:\/\/|#) .*$/gm
const folders = ['apiserver', 'cli', 'cluster', 'controllers', 'kubelet', 'library', 'shared', 'ui']
const sources = globSync(folders.map((folder) => `${folder}/**/*.{ts,pl}`)).sort()
const findings = [
  ...pages.flatMap(findingsOf),
  ...pages.filter((page) => /^docs\/[^/]+$/.test(page)).flatMap(audienceOf),
  ...sources.flatMap(commentFindingsOf),
]
for (const { file, line, what } of findings) console.log(`${file}:${line}: ${what}`)
console.log(`${pages.length} pages, ${sources.length} sources, ${findings.length} findings`)
process.exitCode = findings.length ? 1 : 0

/** A page of the documentation begins with its readers. */
function audienceOf(file: string): Finding[] {
  const [first] = unitsOf(readFileSync(file, 'utf8')).filter(({ text }) => !text.startsWith('#'))
  if (!first || first.text.startsWith('This page is for ')) return []
  return [{ file, line: first.line, what: 'begins without its readers: "This page is for …"' }]
}

function findingsOf(file: string): Finding[] {
  return unitsOf(readFileSync(file, 'utf8')).flatMap(({ text, line, isCell }) => [
    ...(isCell && wordsOf(text) > maxCellWords
      ? [{ file, line, what: `a cell of ${wordsOf(text)} words: ${text.slice(0, 60)}…` }]
      : []),
    ...wordFindings({ file, line, text }, plainWords),
    ...sentencesOf(text).flatMap((sentence) => {
      const count = wordsOf(sentence)
      return count > maxWords ? [{ file, line, what: `a sentence of ${count} words: ${sentence.slice(0, 60)}…` }] : []
    }),
  ])
}

function wordFindings(at: { file: string; line: number; text: string }, words: readonly PlainWord[]): Finding[] {
  return words.flatMap(({ word, instead }) => {
    const found = word.exec(at.text)
    return found ? [{ file: at.file, line: at.line, what: `says "${found[0]}"; instead: ${instead}` }] : []
  })
}

/** A comment over several lines is read as one. */
function commentFindingsOf(file: string): Finding[] {
  const source = readFileSync(file, 'utf8')
  const words = plainWords.filter(({ isForPages }) => !isForPages)
  return [...source.matchAll(comments)].flatMap(({ 0: comment, index }) => {
    const text = comment.replaceAll(/`[^`\n]+`/g, 'code').replaceAll(/(?:^|\s)(?:\/?\*+\/?|\/\/|#)(?=\s|$)/g, ' ')
    const line = source.slice(0, index).split('\n').length
    return wordFindings({ file, line, text: text.replaceAll(/\s+/g, ' ').trim() }, words)
  })
}

function wordsOf(text: string): number {
  return text.split(/\s+/).filter((word) => /\w/.test(word)).length
}

/** What is read as one: a paragraph, an item of a list, a cell of a table. Code and generated tables are left out. */
function unitsOf(page: string): { text: string; line: number; isCell?: boolean }[] {
  const units: { text: string; line: number; isCell?: boolean }[] = []
  let open = false
  for (const [index, raw] of withoutCode(page).split('\n').entries()) {
    const text = raw.trim()
    const line = index + 1
    if (text.startsWith('|')) {
      units.push(...text.split('|').map((cell) => ({ text: cell.trim(), line, isCell: true })))
      open = false
    } else if (text === '' || /^#/.test(text)) {
      if (text) units.push({ text, line })
      open = false
    } else if (open && !/^([-*]|\d+\.) /.test(text)) units.at(-1)!.text += ` ${text}`
    else {
      units.push({ text, line })
      open = true
    }
  }
  return units
}

/** Keeps the lines. Code in a sentence is one word. */
function withoutCode(page: string): string {
  return page
    .replace(/<!-- (kinds|results|reasons): made by [\s\S]*?<!-- end of \1 -->|^```[\s\S]*?^```$/gm, (part) =>
      part.replace(/[^\n]/g, ''),
    )
    .replace(/`[^`\n]+`/g, 'code')
    .replace(/\]\([^)\n]*\)/g, ']')
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?])[)*_"”]*\s+(?=\S)/)
}
