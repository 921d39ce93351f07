import tseslint from 'typescript-eslint'

const CODECS = [
  'server/ids.ts',
  'server/store/**/*.ts',
  'server/**/*codec*.ts',
  'server/**/decode-*.ts',
  'server/session/perform/memos.ts',
  'server/graphql/builder.ts',
  'sdk/graphql-response.ts',
  'sdk/session-events.ts',
]

const notEverywhere = [
  { selector: 'TSEnumDeclaration', message: 'Use a union of strings, or an `as const` list.' },
  { selector: 'TSModuleDeclaration[global!=true][id.type!="Literal"]', message: 'Use a module, not a namespace.' },
]
const interactiveTransaction = {
  selector: 'CallExpression[callee.property.name="$transaction"][arguments.0.type=/Function/]',
  message: 'Interactive transactions hold a connection over round trips and block the embedded database: write one statement.',
}
const environment = {
  selector: 'MemberExpression[object.name="process"][property.name="env"]',
  message: 'Only server/config.ts reads the environment; take what you need as an argument.',
}
const moduleState = {
  selector: 'Program > VariableDeclaration[kind="let"], Program > ExportNamedDeclaration > VariableDeclaration[kind="let"]',
  message: 'No module-level state: give it an owner that creates and stops it.',
}

export default tseslint.config(
  {
    ignores: ['**/dist/**', '**/generated/**', '.tmp/**', '.perdure/**', 'console/**', 'bench/peers/**', 'scripts/**', '**/*.{js,cjs,mjs}'],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error', noInlineConfig: true } },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      'max-depth': ['error', 3],
      'max-lines': ['error', { max: 250 }],
      'max-lines-per-function': ['error', { max: 60, skipComments: true }],
      'max-params': ['error', 4],
      'no-console': 'error',
      'no-param-reassign': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-syntax': ['error', ...notEverywhere, moduleState],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // `as const` is free; everything else belongs into a codec.
      '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'never' }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidOperator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // An adapter may have nothing to wait for where its port says that it may.
      '@typescript-eslint/require-await': 'off',
      // A generic that appears once still says what the caller gets.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // Compatible model providers know only the older names.
      '@typescript-eslint/no-deprecated': 'off',
      // An interface that adds nothing yet still names the concept.
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
    },
  },
  {
    files: ['server/**/*.ts'],
    ignores: ['server/config.ts'],
    rules: { 'no-restricted-syntax': ['error', ...notEverywhere, moduleState, interactiveTransaction, environment] },
  },
  {
    files: ['server/config.ts'],
    rules: { 'no-restricted-syntax': ['error', ...notEverywhere, moduleState] },
  },
  { files: CODECS, rules: { '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'as' }] } },
  { files: ['server/main.ts', '*.config.ts', 'codegen.ts'], rules: { 'no-console': 'off' } },
  // Scripts: their state is that of their one run.
  {
    files: ['examples/*.ts', 'bench/**/*.ts'],
    rules: { 'no-console': 'off', 'no-restricted-syntax': ['error', ...notEverywhere] },
  },
  {
    // Tests are lists of claims: one `describe` may be long, and they look at answers that have no type.
    files: ['test/**/*.ts', '**/*.test.ts'],
    rules: {
      'max-lines-per-function': 'off',
      'no-restricted-syntax': ['error', ...notEverywhere],
      'no-console': 'off',
      '@typescript-eslint/consistent-type-assertions': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
)
