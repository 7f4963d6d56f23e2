import type { Container } from '../../shared/api/types.ts'

const shells = /^(?:\/(?:usr\/)?bin\/)?(?:sh|bash|dash|ash|zsh|ksh)$/

export const commandText = (command: readonly string[] = []): string => command.join(' ')

/** The script of a container that is started as `sh -c SCRIPT`; undefined for any other. */
export function shellScript({ command = [], args = [] }: Container): { swallowsSignals: boolean } | undefined {
  const [shell = '', flag = '', script] = [...command, ...args]
  if (!shells.test(shell) || !/^-[a-z]*c$/.test(flag) || script === undefined) return undefined
  const commands = script.trim().replace(/;$/, '')
  // The only command of a script takes the shell's place.
  const isOne = !/[;&|\n]/.test(commands)
  const isTold = /(?:^|[\s;&|])trap\s/.test(commands)
  const isReplaced = /(?:^|[\s;&|])exec\s/.test(commands)
  return { swallowsSignals: !isOne && !isTold && !isReplaced }
}
