const { require: _server, ...asAll } = require('./.mocharc.json')
const { unitTests } = require('./tools/unit-tests.cjs')

/** As all tests are run, but without a server. */
module.exports = { ...asAll, spec: unitTests() }
