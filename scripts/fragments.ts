// Holds the doc comments against one rule: the first sentence has a subject, or begins with its verb, and says what
// the name does or is. Of names that are not exported it looks at the beginning alone. Prints every fragment; exit
// code 1 if there is one.
import { globSync, readFileSync } from 'node:fs'
import nlp from 'compromise'

const folders = ['apiserver', 'cli', 'cluster', 'controllers', 'kubelet', 'library', 'openapi', 'shared', 'ui']
const documented = /^([ \t]*)\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*\n[ \t]*([^\n]*)/gm
const typeOrClass = /^export (?:abstract )?(?:class|interface|type)\b/

/** A comment that begins with one of these continues a thought that is not written down. */
const opener =
  /^(?:Undefined|Absent|Empty|Default|Told|Called|Once|False|More|Another|Something|Whole|Of|Also|As|With|Without|For|From|In|By|To|At|On|Under|Among|Beside|Like|Likewise|What|Whatever|Who|Whoever|Whose|Which|Whether|How|Why|One (?:that|of|who|which)|Ones?|Those|That|The same|All (?:that|of which|there)|Only|Not|Nothing (?:of|but)|Nor|And|But|Or|So|Such|Is|Are|Was|Were|Has|Have|It|Its|They|Them|Their|Both|Where|When|If|Until|After|Before|Since|While)\b/
/** A sentence may begin with one of these; the tagger takes some of them for nouns. */
const verb =
  /^(?:Answers|Asks|Calls|Charges|Converts|Copies|Counts|Describes|Encodes|Fails|Formats|Handles|Holds|Implements|Keeps|Maps|Moves|Offers|Opens|Parses|Passes|Refuses|Resolves|Returns|Runs|Says|Serves|Shows|Splits|Starts|Streams|Tells|Throws|Tracks|Writes)\b/
/** These may begin a sentence whose main clause follows after a comma. */
const subordinate = /^(?:In|On|At|By|For|From|To|With|Without|Under|Where|When|If|Until|After|Before|Since|While|As) /

const findings = globSync(folders.map((folder) => `${folder}/**/*.ts`))
  .sort()
  .flatMap((file) => fragmentsOf(readFileSync(file, 'utf8')).map((finding) => `${file}:${finding}`))
for (const finding of findings) console.log(finding)
console.log(`${findings.length} fragments`)
process.exitCode = findings.length ? 1 : 0

function fragmentsOf(source: string): string[] {
  return [...source.matchAll(documented)].flatMap(({ 1: indent = '', 2: comment = '', 3: name = '', index }) => {
    const before = source.slice(0, index)
    const isMember = indent !== '' && typeOrClass.test(before.match(/^\w.*$/gm)?.at(-1) ?? '')
    const isExported = isMember || name.startsWith('export ')
    const [sentence = ''] = plain(comment).split(/(?<=[.!?])\s+(?=\S)/)
    const problem = problemOf(sentence, isExported)
    return problem ? [`${before.split('\n').length}: ${problem}: ${sentence.slice(0, 90)}`] : []
  })
}

function problemOf(sentence: string, isExported: boolean): string | undefined {
  const begins = opener.test(sentence) && !(subordinate.test(sentence) && sentence.includes(', '))
  if (begins) return `begins with "${sentence.split(/\W/)[0]}"`
  if (!isExported || verb.test(sentence)) return undefined
  // "Names the files" may be read as a noun, "it names the files" may not.
  const asVerb = /^[A-Z][a-z]+s /.test(sentence) ? `It ${sentence[0]?.toLowerCase()}${sentence.slice(1)}` : sentence
  return nlp(asVerb).verbs().length === 0 ? 'has no verb' : undefined
}

/** The text of a comment on one line, with each piece of code as one word. */
function plain(comment: string): string {
  return comment
    .replaceAll(/^\s*\*\s?/gm, ' ')
    .replaceAll(/\{@link (\w+)\}|`[^`\n]*`/g, 'code')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
