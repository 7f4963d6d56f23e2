import { writeFile } from 'node:fs/promises'
import { readInput } from '../../shared/config/input.ts'
import { ConfigError, option, UsageError } from '../../shared/config/option.ts'
import { flag, oneOf, path, text, wholeNumber } from '../../shared/config/option-types.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { inOneSentence } from '../../shared/config/system-errors.ts'
import { readRecord } from '../../shared/record/reader.ts'
import { Story } from '../../ui/story/story.ts'
import { command } from '../command.ts'
import { type View, views } from './views.ts'

const usage = 'usage: kubestage export FILE (--svg | --html)'

export default command({
  purpose: 'Makes a picture, or a page of one file, of what kubestage record has written.',
  usage: 'FILE (--svg | --html)',
  options: {
    config: configOption,
    svg: option(flag, { default: false, help: 'A picture, for a README or a pull request' }),
    html: option(flag, { default: false, help: 'The page with the record in it, which needs nothing else' }),
    out: option(path, { default: '', short: 'o', help: 'File to write; default: standard output' }),
    view: option(oneOf(...views), { default: 'timeline', help: 'svg: what the picture shows' }),
    select: option(text, {
      default: '',
      help: 'svg: pods by labels (app=web) or a part of their name; of a rollout: its workload',
    }),
    width: option(wholeNumber({ min: 320, max: 4000, placeholder: 'PIXELS' }), {
      default: 900,
      help: 'svg: width of the picture',
    }),
  },
  notes: ['The same record gives the same file. Pictures are light or dark as the reader wants it.'],
  async run({ values: { svg, html, out, ...picture }, positionals: [file, ...rest] }) {
    if (file === undefined || rest.length > 0 || svg === html) throw new UsageError(usage)
    const made = html ? await pageOf(file) : await pictureOf(file, picture)
    if (out) await writeFile(out, made).catch(unwritable(out))
    else process.stdout.write(made)
    return 0
  },
})

async function pictureOf(file: string, how: { view: View; select: string; width: number }): Promise<string> {
  const story = new Story()
  await reading(file, (line) => story.add(line))
  const { picture } = await import('./picture.ts')
  return picture(story, how)
}

async function pageOf(file: string): Promise<string> {
  const lines: string[] = []
  await reading(file, (line) => lines.push(JSON.stringify(line)))
  const { wholePage } = await import('../../apiserver/ui/pages.ts')
  return (await wholePage(lines)).html
}

type Lines = Parameters<Story['add']>[0]

async function reading(file: string, onLine: (line: Lines) => void): Promise<void> {
  try {
    const onCut = (): void =>
      void process.stderr.write(`${file} was cut off: its last line is not whole, and what follows is missing\n`)
    for await (const line of readRecord(readInput(file), { name: file, onCut })) onLine(line)
  } catch (error) {
    throw new UsageError((inOneSentence(error as Error, { place: `cannot read ${file}` }) ?? (error as Error)).message)
  }
}

const unwritable = (out: string) => (error: Error) => {
  throw new ConfigError(`cannot write ${out}: ${(inOneSentence(error) ?? error).message}`)
}
