/** `apps/v1`, or `v1` in the core group. */
export const apiVersionOf = ({ group, version }: { group: string; version: string }): string =>
  group ? `${group}/${version}` : version
