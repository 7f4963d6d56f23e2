import { basename, resolve } from 'node:path'
import { interpreters } from './entrypoint.ts'

/** Matches names of files that are read; a file that is written need not exist. */
const readSuffix = /\.(?:py|m?js|cjs|ts|rb|pl|php|sh|jar|war|ya?ml|json|toml|ini|cfg|conf|properties|pem|crt|key)$/

/**
 * Files that a command names for its program to read, as whole paths: the script of an interpreter, and what looks like
 * a program's or a configuration's file (`-jar /app.jar`, `--config=/etc/web.yaml`). What a shell's own script says is
 * not looked at.
 */
export function namedFiles(command: readonly string[], workingDir: string): string[] {
  const [program = '', ...words] = command
  const [first = ''] = words
  const isScript = interpreters.test(basename(program)) && /^[^-\s]/.test(first)
  const candidates = words.flatMap((word, index) => {
    if (index === 0 && isScript) return first
    const value = word.replace(/^-[\w.-]+=/, '')
    return value.startsWith('/') && readSuffix.test(value) ? value : []
  })
  // A variable, a pattern, or a text is no path.
  return [...new Set(candidates.filter((word) => !/[$*\s]/.test(word)).map((word) => resolve(workingDir, word)))]
}
