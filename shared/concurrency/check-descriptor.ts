import { fstatSync } from 'node:fs'
import { ConfigError } from '../config/option.ts'

/** Throws a ConfigError where `fd`, of an internal variable, is no descriptor that the parent process has left open. */
export function checkDescriptor(variable: string, fd: string | undefined): void {
  const wrong = new ConfigError(
    `${variable} is an internal variable of kubestage up, and its value is not valid: unset it`,
  )
  if (fd === undefined || !/^\d{1,9}$/.test(fd)) throw wrong
  try {
    const stat = fstatSync(Number(fd))
    if (!stat.isFIFO() && !stat.isSocket()) throw wrong
  } catch {
    throw wrong
  }
}
