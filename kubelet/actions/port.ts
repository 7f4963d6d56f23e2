import type { ActionTarget } from './action.ts'

/**
 * Resolves a port that is a number, or the name of one of the container's ports. Throws an Error with the message of
 * upstream's pkg/probe/util.go if the name is unknown or the number is out of range.
 */
export function resolvePort(port: number | string, { ports }: Pick<ActionTarget, 'ports'>): number {
  const named = ports.find(({ name }) => name === port)?.containerPort
  const number = named ?? (typeof port === 'number' ? port : parse(port))
  if (number < 1 || number > 65535) throw new Error(`invalid port number: ${number}`)
  return number
}

function parse(port: string): number {
  if (!/^[+-]?\d+$/.test(port)) throw new Error(`strconv.Atoi: parsing ${JSON.stringify(port)}: invalid syntax`)
  return Number(port)
}
