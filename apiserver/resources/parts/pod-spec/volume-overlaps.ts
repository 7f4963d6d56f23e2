/** Warnings of volumes in which two files want the same path, or one stands where another needs a folder. */
import type { PodSpec } from '../../../../shared/api/types.ts'

interface Place {
  path: string
  /** Where it comes from, if a volume has several sources. */
  source: string
}
type Volume = NonNullable<PodSpec['volumes']>[number]
type Source = NonNullable<NonNullable<Volume['projected']>['sources']>[number]

/** Bounds the pairs of paths, of which there may be billions; no answer has room for more. */
const mostShown = 200

/** Returns upstream's warnings (`warningsForOverlappingVirtualPaths`), at most 200 for each volume. */
export function overlapWarnings(volumes: readonly Volume[]): string[] {
  const warnings: string[] = []
  const check = (volume: string, kind: string, places: readonly Place[]): void => {
    for (const [place, other] of overlaps(places))
      warnings.push(`volume ${quoted(volume)} (${kind}): overlapping paths: ${shown(place)} with ${shown(other)}`)
  }
  for (const { name, configMap, secret, downwardAPI, projected } of volumes) {
    if (configMap) check(name, `ConfigMap ${quoted(configMap.name)}`, placesOf(configMap.items, ''))
    if (secret) check(name, `Secret ${quoted(secret.secretName)}`, placesOf(secret.items, ''))
    if (downwardAPI) check(name, 'DownwardAPI', placesOf(downwardAPI.items, ''))
    const sources = projected?.sources ?? []
    for (const source of sources)
      if (Object.keys(source).length === 0) warnings.push(`volume ${quoted(name)} (Projected) has no sources provided`)
    check(name, 'Projected', sources.flatMap(placesOfSource))
  }
  return warnings
}

function placesOfSource(source: Source): Place[] {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source
  if (configMap?.items) return placesOf(configMap.items, `ConfigMap ${quoted(configMap.name)}`)
  if (secret?.items) return placesOf(secret.items, `Secret ${quoted(secret.name)}`)
  if (downwardAPI?.items) return placesOf(downwardAPI.items, 'DownwardAPI')
  return serviceAccountToken ? placesOf([serviceAccountToken], 'ServiceAccountToken') : []
}

const placesOf = (items: readonly { path?: string }[] = [], source: string): Place[] =>
  items.map(({ path = '' }) => ({ path: withoutSlashes(path), source })).filter(({ path }) => path !== '')

/** Removes the slashes at the end of a path. A pattern would try each of a megabyte of slashes in its middle. */
function withoutSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** Returns each place with each earlier one at the same path, above it or below it. */
function overlaps(places: readonly Place[]): [place: Place, earlier: Place][] {
  const sorted = places.map(({ path }, index) => ({ folder: `${path}/`, index }))
  sorted.sort((a, b) => (a.folder < b.folder ? -1 : a.folder > b.folder ? 1 : a.index - b.index))
  const above: typeof sorted = []
  const pairs: [index: number, earlier: number][] = []
  for (const one of sorted) {
    while (above.length > 0 && !one.folder.startsWith(above.at(-1)!.folder)) above.pop()
    for (const { index } of above) {
      if (pairs.length === mostShown) break
      pairs.push([Math.max(index, one.index), Math.min(index, one.index)])
    }
    above.push(one)
  }
  return pairs.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([index, earlier]) => [places[index]!, places[earlier]!])
}

const quoted = (text = ''): string => JSON.stringify(text)
const shown = ({ path, source }: Place): string => (source ? `${quoted(path)} (${source})` : quoted(path))
