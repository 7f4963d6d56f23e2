import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Writes the declarations of the library to `folder`, and of the sources that they refer to. They are not checked here:
 * `npm run check` does that.
 */
export function writeTypes(folder: string): void {
  const everything = mkdtempSync(join(tmpdir(), 'kubestage-types-'))
  try {
    execFileSync('tsc', ['-p', 'tsconfig.build.json', '--outDir', everything], { stdio: 'inherit' })
    const wanted = new Set<string>(['library/index.d.ts'])
    for (const file of wanted) {
      for (const other of references(readFileSync(join(everything, file), 'utf8')))
        wanted.add(join(dirname(file), other))
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), withoutFastify(readFileSync(join(everything, file), 'utf8')))
    }
  } finally {
    rmSync(everything, { recursive: true, force: true })
  }
}

/** Only authors of plugins have Fastify for its types; the compiler is to accept the others' programs as well. */
const withoutFastify = (declaration: string): string =>
  declaration.replace(/^(?:import .* from|declare module) 'fastify'.*$/gm, '// @ts-ignore: not installed\n$&')

/** The relative ones, as names of declarations. */
const references = (declaration: string): string[] =>
  [...declaration.matchAll(/(?:from|import\(?)\s*['"](\.[^'"]+)\.(?:js|ts)['"]/g)].map(([, stem]) => `${stem}.d.ts`)
