const { require: _server, ...asAll } = require('./.mocharc.json')
const { unitTests } = require('./tools/unit-tests.cjs')

/** As all tests are run, but without a server, and in one process: each further one loads most of the product again, 10 s. */
module.exports = { ...asAll, parallel: false, spec: unitTests() }
