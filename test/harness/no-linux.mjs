// Preloaded, makes a program believe that it is on macOS: it knows no system calls, so there are no namespaces and no addresses but 127.0.0.1.
Object.defineProperty(process, 'platform', { value: 'darwin' })
