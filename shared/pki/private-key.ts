import { createPrivateKey, type KeyObject } from 'node:crypto'

/**
 * An EC key in PEM as kubeadm and openssl write it (SEC 1, `EC PRIVATE KEY`): some clients, such as fabric8's, read no
 * other form.
 */
export const ecKeyText = (key: KeyObject): string => key.export({ type: 'sec1', format: 'pem' }).toString()

/** Converts a private key in PEM, in whatever form, to the `EC PRIVATE KEY` form. */
export const asEcKeyText = (text: string): string =>
  text.includes('-----BEGIN EC PRIVATE KEY-----') ? text : ecKeyText(createPrivateKey(text))
