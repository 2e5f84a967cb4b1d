"""Agent files: what they let an agent do, and how to say the same in another format.

Above: the commands and, later, the compiler. Below: the text layer. Everything here is pure: text
in, values out; nothing is opened, and nothing is raised for what a file says.
"""
