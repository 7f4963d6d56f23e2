import { ConfigError, flagOf } from '../shared/config/option.ts'
import type { Command } from './command.ts'

const scripts: Record<string, string> = {
  bash: `_kubestage() {
  local word=\${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=($(compgen -W "$(kubestage completion words "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "$word"))
}
complete -o default -F _kubestage kubestage
`,
  zsh: `#compdef kubestage
_kubestage() {
  local -a found
  found=(\${(f)"$(kubestage completion words "\${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)"})
  compadd -a found || _files
}
compdef _kubestage kubestage
`,
  fish: `complete -c kubestage -a '(kubestage completion words (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

export const completionUsage = `usage: kubestage completion (${Object.keys(scripts).join(' | ')})`

/** What a shell evaluates once, as in `eval "$(kubestage completion bash)"`; or, after the word `words`, what may stand where the last of the given ones begins. */
export async function complete(
  commands: Readonly<Record<string, { load(): Promise<{ default: Command }> }>>,
  [shell = '', ...words]: readonly string[],
): Promise<string> {
  if (shell !== 'words') {
    const script = words.length === 0 && Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
    if (script === undefined) throw new ConfigError(completionUsage)
    return script
  }
  const [name = '', ...rest] = words
  if (rest.length === 0) return lines([...Object.keys(commands), 'completion', 'version', 'help'], name)
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!entry) return ''
  const { default: command } = await entry.load()
  const flags = ['--help', ...Object.keys(command.options).map(flagOf)]
  const own = [...(command.usage ?? '').replace(/'[^']*'/g, '').matchAll(/\b[a-z]+\b/g)].map(([word]) => word)
  return lines([...(rest.length === 1 ? own : []), ...flags], rest.at(-1) ?? '')
}

const lines = (candidates: readonly string[], prefix: string): string =>
  candidates
    .filter((candidate) => candidate.startsWith(prefix))
    .map((candidate) => `${candidate}\n`)
    .join('')
