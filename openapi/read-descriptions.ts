/** Descriptions of types and fields, read from the doc comments of the installed client library's models. */
import { readdirSync, readFileSync } from 'node:fs'

/** Field name (or '' for the type itself) → description. */
export type Descriptions = Record<string, Record<string, string>>

const models = new URL('../node_modules/@kubernetes/client-node/dist/gen/models/', import.meta.url)
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** `io.k8s.api.core.v1.Event` may be the model V1Event or, where names clash, CoreV1Event. */
function candidates(type: string): string[] {
  const [group = '', version = '', name = ''] = type.split('.').slice(-3)
  const plain = `${capitalize(version)}${name}`
  return [`${capitalize(group)}${plain}`, plain]
}

const plainText = (text: string) =>
  text
    .replaceAll(/\s*\n\s*\*\s?/g, ' ')
    .replaceAll('\\"', '"')
    .trim()

export function readDescriptions(types: string[]): Descriptions {
  const files = new Set(readdirSync(models))
  const descriptions: Descriptions = {}
  for (const type of types) {
    const file = candidates(type).find((name) => files.has(`${name}.d.ts`))
    if (!file) continue
    const source = readFileSync(new URL(`${file}.d.ts`, models), 'utf8')
    const found: Record<string, string> = {}
    const own = /\/\*\*\n\* ((?:(?!\*\/).)*?)\n\*\/\nexport declare class/s.exec(source)?.[1]
    if (own) found[''] = plainText(own)
    for (const [, text, name] of source.matchAll(/\/\*\*\n\s+\* ((?:(?!\*\/).)*?)\n\s+\*\/\n\s+'([^']+)'/gs)) {
      found[name!.replace(/^_/, '')] = plainText(text!)
    }
    descriptions[type] = found
  }
  return descriptions
}
