import { statSync } from 'node:fs'
import { kubernetesSchema } from '../../shared/api/json/yaml-schema.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { readNamedFile } from '../../shared/config/named-file.ts'
import { UsageError } from '../../shared/config/option.ts'

/** All objects of YAML or JSON files, lists taken apart. A mistake is told with its file. */
export async function readManifests(files: readonly string[]): Promise<{ file: string; object: KubeObject }[]> {
  const yaml = await import('js-yaml')
  const schema = kubernetesSchema(yaml)
  const loadAll = (text: string): unknown[] => yaml.loadAll(text, { schema })
  return files.flatMap((file) => {
    const documents = parse(file, loadAll).filter((document) => document !== null && document !== undefined)
    return documents.flatMap((document) => itemsOf(file, document).map((object) => ({ file, object })))
  })
}

/** Returns whether the argument names a manifest, as opposed to an image. */
export function isManifest(argument: string): boolean {
  if (/\.(ya?ml|json)$/i.test(argument)) return true
  return statSync(argument, { throwIfNoEntry: false })?.isFile() ?? false
}

function parse(file: string, loadAll: (text: string) => unknown[]): unknown[] {
  const text = readNamedFile(file)
  try {
    return loadAll(text)
  } catch (error) {
    const { reason, mark } = error as { reason?: string; mark?: { line: number } }
    throw new UsageError(`${file}:${(mark?.line ?? 0) + 1}: not valid YAML${reason ? ` (${reason})` : ''}`)
  }
}

function itemsOf(file: string, document: unknown): KubeObject[] {
  const { kind, items, metadata, apiVersion } = (document ?? {}) as Partial<KubeObject>
  if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items))
    return items.flatMap((item) => itemsOf(file, item))
  const name = metadata?.name ?? metadata?.generateName?.replace(/-$/, '')
  if (typeof kind === 'string' && typeof apiVersion === 'string' && name)
    return [{ ...(document as KubeObject), metadata: { ...metadata, name } }]
  throw new UsageError(`${file}: each document must be an object with apiVersion, kind and metadata.name`)
}
