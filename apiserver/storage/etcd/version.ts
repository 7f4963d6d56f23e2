import { ConfigError } from '../../../shared/config/option.ts'

const oldest = [3, 4, 0]

/** Throws a ConfigError for an etcd that cannot do what is needed: watches in fragments are there since 3.4. */
export function checkVersion(version: string, place: string): void {
  if (compare(numbers(version), oldest) < 0)
    throw new ConfigError(`${place} is version ${version}; use etcd 3.4 or later`)
}

/**
 * Returns whether etcd of this version answers a request for progress only after all earlier events. Upstream checks
 * for the same versions: staging/src/k8s.io/apiserver/pkg/storage/feature/feature_support_checker.go.
 */
export function tellsProgress(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = numbers(version)
  const since = ({ 4: 31, 5: 13 } as Readonly<Record<number, number>>)[minor] ?? 0
  return major > 3 || minor > 5 || (minor >= 4 && patch >= since)
}

const numbers = (version: string): number[] => version.split(/[.-]/).slice(0, 3).map(Number)

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, number] of b.entries()) if (a[index] !== number) return (a[index] ?? 0) - number
  return 0
}
