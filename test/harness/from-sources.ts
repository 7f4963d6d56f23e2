/** Imported first by tests that change what Node loads of the sources: their commands are not those of a built package. */
delete process.env.KUBESTAGE_PACKAGE
