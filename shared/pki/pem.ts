export function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

/** The content of the first block of that kind; undefined where there is none. */
export function fromPem(label: string, text: string): Buffer | undefined {
  const base64 = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]*)-----END ${label}-----`).exec(text)?.[1]
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64')
}
