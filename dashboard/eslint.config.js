import js from '@eslint/js'
import prettier from 'eslint-config-prettier'
import svelte from 'eslint-plugin-svelte'
import globals from 'globals'
import ts from 'typescript-eslint'

export default ts.config(
  {
    ignores: [
      'dist',
      'node_modules',
      'test-results',
      'playwright-report',
      'src/lib/api/schema.ts',
      'src/lib/api/schema.golden.ts',
    ],
  },
  js.configs.recommended,
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  prettier,
  ...svelte.configs.prettier,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      'no-undef': 'off', // TypeScript checks this
      'no-restricted-globals': [
        'error',
        { name: 'encodeURIComponent', message: 'Use encode of lib/format/uri.' },
      ],
      'max-lines': ['error', 650],
      'max-lines-per-function': ['error', { max: 80, skipComments: true, skipBlankLines: true }],
      'max-params': ['error', 4],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'] } },
    rules: {
      // Input from agents is rendered as text, and the page's Content Security Policy forbids inline styles.
      'svelte/no-at-html-tags': 'error',
      // style:name={…} is set through the CSSOM, which the policy allows.
      'no-restricted-syntax': [
        'error',
        { selector: 'SvelteAttribute[key.name="style"]', message: 'Use a class or style:name={…}.' },
      ],
      'svelte/no-useless-mustaches': 'off', // {' '} keeps a space that Prettier would remove
      'svelte/prefer-svelte-reactivity': 'off', // state that is not rendered need not be reactive
      // Links are plain paths; the router needs no resolve().
      'svelte/no-navigation-without-resolve': 'off',
    },
  },
  {
    files: ['**/*.test.ts', 'e2e/**'],
    rules: {
      'no-restricted-globals': 'off',
      'max-lines-per-function': 'off',
      'max-params': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
)
