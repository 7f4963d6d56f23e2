import { flagOf, type Option, type Options, UsageError } from '../shared/config/option.ts'
import { resolveOptions, type Sources } from '../shared/config/resolve.ts'
import type { Command } from './command.ts'
import type { Entry } from './commands.ts'

/**
 * Scripts that make each shell ask for completions. `kubestage completion words …` gets what stands before the cursor,
 * and answers with lines.
 */
const scripts: Record<string, { script: string; install: string }> = {
  bash: {
    script: `_kubestage() {
  local word=\${COMP_WORDS[COMP_CWORD]}
  [ "$word" = = ] && word=
  COMPREPLY=($(compgen -W "$(kubestage completion words "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "$word"))
}
complete -o default -F _kubestage kubestage
`,
    install: `echo 'eval "$(kubestage completion bash)"' >> ~/.bashrc`,
  },
  zsh: {
    script: `#compdef kubestage
_kubestage() {
  local -a found
  found=(\${(f)"$(kubestage completion words "\${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)"})
  compadd -a found || _files
}
compdef _kubestage kubestage
`,
    install: `echo 'eval "$(kubestage completion zsh)"' >> ~/.zshrc`,
  },
  fish: {
    script: `complete -c kubestage -a '(kubestage completion words (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
    install: 'kubestage completion fish > ~/.config/fish/completions/kubestage.fish',
  },
}

const shells = Object.keys(scripts)
const usage = `usage: kubestage completion (${shells.join(' | ')})`
const help = [
  'Prints what makes a shell complete commands, flags, their values, and names of the cluster.\n',
  `Usage: kubestage completion (${shells.join(' | ')})\n`,
  'To have it always:\n',
  ...shells.map((shell) => `  ${shell.padEnd(5)} ${scripts[shell]?.install}`),
  '',
].join('\n')

export interface CompletionContext extends Pick<Sources, 'env' | 'fileKeys' | 'defaultFile'> {
  commands: Readonly<Record<string, Entry>>
  /** Subcommands that are not in `commands`, such as `completion`. */
  builtIn: Readonly<Record<string, string>>
}

/**
 * Returns the script that a shell evaluates once, as in `eval "$(kubestage completion bash)"`. If the first word is
 * `words`, returns instead the candidates that complete the last of the given words, one a line. Throws a UsageError
 * for an unknown shell.
 */
export async function complete(context: CompletionContext, [shell = '', ...words]: readonly string[]): Promise<string> {
  if (shell === 'words') return lines(await candidates(context, words))
  if (shell === '--help' || shell === '-h') return help
  const script = words.length === 0 && Object.hasOwn(scripts, shell) ? scripts[shell]?.script : undefined
  if (script === undefined) throw new UsageError(usage)
  return script
}

const lines = (words: readonly string[]): string => words.map((word) => `${word}\n`).join('')

async function candidates(context: CompletionContext, words: readonly string[]): Promise<string[]> {
  const { commands, builtIn } = context
  const [name = '', ...typed] = words
  const beginsWith = (prefix: string) => (word: string) => word.startsWith(prefix)
  if (typed.length === 0) return [...Object.keys(commands), ...Object.keys(builtIn)].filter(beginsWith(name))
  if (name === 'completion') return shells.filter(beginsWith(typed.at(-1) ?? ''))
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!entry) return []
  const { default: command } = await entry.load()
  const { last, before, prefix } = atCursor(typed)
  const [flag = '', value] = splitFlag(last)
  const awaiting = value === undefined ? takesValue(command.options, before.at(-1)) : undefined
  if (awaiting) return valuesOf(awaiting).filter(beginsWith(last))
  const named = value === undefined ? undefined : optionOf(command.options, flag)
  if (named)
    return valuesOf(named)
      .filter(beginsWith(value ?? ''))
      .map((choice) => prefix + choice)
  // Before a word has begun, what the command takes is meant; the shell knows files.
  const areFlagsMeant = last.startsWith('-') || !command.usage
  const flags = areFlagsMeant ? ['--help', ...Object.keys(command.options).map(flagOf)] : []
  const own = last.startsWith('-') ? [] : await ownWords(command, before, context)
  return [...own, ...flags].filter(beginsWith(last))
}

/**
 * bash makes three words of `--flag=va`, and wants the last of them completed; others make one. `prefix` is what the
 * answer repeats.
 */
function atCursor(typed: readonly string[]): { last: string; before: readonly string[]; prefix: string } {
  const equals = typed.at(-1) === '=' ? typed.length - 1 : typed.at(-2) === '=' ? typed.length - 2 : -1
  if (equals > 0) return { last: typed.slice(equals - 1).join(''), before: typed.slice(0, equals - 1), prefix: '' }
  const last = typed.at(-1) ?? ''
  return { last, before: typed.slice(0, -1), prefix: `${splitFlag(last)[0]}=` }
}

function splitFlag(word: string): [flag: string, value?: string] {
  const equals = word.indexOf('=')
  return word.startsWith('-') && equals > 0 ? [word.slice(0, equals), word.slice(equals + 1)] : [word]
}

function optionOf(options: Options, flag: string): Option<unknown> | undefined {
  return Object.entries(options).find(([name, { short }]) => flagOf(name) === flag || `-${short}` === flag)?.[1]
}

/** The option whose value must come next. */
function takesValue(options: Options, word = ''): Option<unknown> | undefined {
  const found = optionOf(options, word)
  return found?.type.placeholder ? found : undefined
}

function valuesOf({ type: { placeholder, schema } }: Option<unknown>): string[] {
  const choices = (schema as { enum?: string[] } | undefined)?.enum
  return choices ? [...choices] : placeholder === '' ? ['true', 'false'] : []
}

/** Resolves to words that the command knows, from the cluster if there is one; to none after a mistake. */
async function ownWords(command: Command, before: readonly string[], sources: CompletionContext): Promise<string[]> {
  if (!command.complete) return []
  try {
    return await command.complete(await resolveOptions(command.options, { ...sources, args: before }))
  } catch {
    return []
  }
}
