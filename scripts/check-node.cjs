'use strict'
// Preloaded (node -r) before anything else, so that an old Node says one sentence instead of a syntax error.
// It is CommonJS and ES5 for that reason.
var fs = require('fs')
var path = require('path')

var engines = JSON.parse(fs.readFileSync(path.join(__dirname, '../package.json'), 'utf8')).engines.node
var needed = /(\d+)\.(\d+)/.exec(engines).slice(1).map(Number)
var present = process.versions.node.split('.').map(Number)

if (present[0] < needed[0] || (present[0] === needed[0] && present[1] < needed[1])) {
  console.error('Perdure needs Node ' + needed.join('.') + ' or newer; this is ' + process.version + '. See https://nodejs.org')
  process.exit(1)
}
