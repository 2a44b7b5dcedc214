/** Types of python.mjs. */
export declare function pythonWithPackages(options?: { log?: (line: string) => void }): Promise<string>;
