import type { Container } from '../types.ts'
import { bareScript, commandText, scriptOf } from './shell-form.ts'

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
const sleepCommand = /^(?:\/\S*\/)?sleep\s+(\d+(?:\.\d+)?)([smhd]?)$/

/**
 * Returns how long a container's preStop hook sleeps, in seconds: the sleep action, the command `sleep 40`, or the sum
 * of all sleeps of a shell script. Undefined if the hook does not sleep, or the time cannot be determined.
 */
export function hookSleepSeconds({ lifecycle }: Container): number | undefined {
  const { sleep, exec } = lifecycle?.preStop ?? {}
  if (sleep) return sleep.seconds
  const script = scriptOf(exec?.command ?? [])?.script
  const commands = script === undefined ? [commandText(exec?.command)] : plainCommands(bareScript(script))
  const slept = commands.flatMap((one) => {
    const [, count, unit = ''] = sleepCommand.exec(one.trim()) ?? []
    return count === undefined ? [] : Number(count) * (units[unit || 's'] ?? 1)
  })
  return slept.length === 0 ? undefined : slept.reduce((sum, seconds) => sum + seconds, 0)
}

/**
 * Returns the commands of a script that run one after the other, whatever the exit codes of earlier ones. A script that
 * branches, repeats, or leaves a command in the background has none.
 */
function plainCommands(script: string): string[] {
  if (/\b(?:if|for|while|until|case|function|exit)\b|\|\||(?<!&)&(?!&)|[(){}]/.test(script)) return []
  const [first = '', ...rest] = script.split(/;|\n|&&/)
  return /&&/.test(script) && !sleepCommand.test(first.trim()) ? [] : [first, ...rest]
}
