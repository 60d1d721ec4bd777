// Linked with a translation unit for each public header and two that include them all. That it links is the test.
int main() {}
