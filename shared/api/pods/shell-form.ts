import type { Container } from '../types.ts'

const shells = /^(?:\/(?:usr\/)?bin\/)?(sh|bash|dash|ash|zsh|ksh)$/

export const commandText = (command: readonly string[] = []): string => command.join(' ')

/**
 * Returns the shell and the script of a command `sh -c SCRIPT`, whatever other flags it has; undefined for any other
 * command.
 */
export function scriptOf(command: readonly string[]): { shell: string; script: string } | undefined {
  const [program = '', ...words] = command
  const shell = shells.exec(program)?.[1]
  if (shell === undefined) return undefined
  const at = words.findIndex((word) => /^-[a-z]*c$/.test(word))
  // `-o pipefail` is a flag with a word of its own.
  const areFlags = words.slice(0, at).every((word, index) => /^[-+]/.test(word) || words[index - 1]?.endsWith('o'))
  const script = words[at + 1]
  return at >= 0 && areFlags && script !== undefined ? { shell, script } : undefined
}

/** A script's own words: without comments, texts in quotes, redirections (`2>&1`), and line ends that end nothing. */
export const bareScript = (script: string): string =>
  script
    .replace(/\\\n/g, ' ')
    .replace(/'[^']*'|"(?:[^"\\]|\\.)*"/gs, '""')
    .replace(/(^|[\s;])#.*$/gm, '$1')
    .replace(/\d*(?:[<>]&|&>>?)\s*[\w-]*/g, ' ')
    .trim()
    .replace(/;$/, '')

/** The script of a container that is started as `sh -c SCRIPT`; undefined for any other. */
export function shellScript({ command = [], args = [] }: Container): { swallowsSignals: boolean } | undefined {
  const found = scriptOf([...command, ...args])
  if (!found) return undefined
  const commands = bareScript(found.script)
  // The only command of a script takes the shell's place; with bash the last one does.
  const isOne = !/[;&|\n]/.test(commands)
  const isLast = found.shell === 'bash' && !/[|(){}]|(?<!&)&(?!&)|\b(?:if|for|while|until|case)\b/.test(commands)
  const isTold = /(?:^|[\s;&|])trap\s/.test(commands)
  const isReplaced = /(?:^|[\s;&|])exec\s/.test(commands)
  return { swallowsSignals: !isOne && !isLast && !isTold && !isReplaced }
}
