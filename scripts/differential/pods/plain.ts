/** Takes out of a text what a node chooses. */
export const plain = (text: string): string =>
  text
    .replace(/\b[0-9a-f]{64}\b/g, '<id>')
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>')
    .replace(/\bp[0-9a-z]{4,8}-\d+-0(?=\b|_)/g, '<pod>')
    .replaceAll('127.0.0.1:17490', '<registry>')
    .replace(/\b(127|10)\.\d+\.\d+\.\d+:\d{5}\b/g, '<client>')
    .replace(/\b\d+\.\d+\.\d+\.\d+\b/g, '<ip>')
    // A real kubelet prints a structure with its addresses there.
    .replace(/(failed to find networking container: ).*/s, '$1<pod>')
    .replace(/\bin \d+(\.\d+)?m?s \(\d+(\.\d+)?m?s including/g, 'in <time> (<time> including')
